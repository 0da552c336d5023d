// Seconds of a data-parallel step by what they go to: the model of mixnet/widgets/scaling/model.py.

// model: {t_compute, batch, serial, alpha, beta, bytes, overlap, compression}
export function stepParts(model, n) {
  const { t_compute, batch, serial = 0, alpha = 0, beta = 0, bytes = 0, overlap = 0, compression = 1 } = model;
  const compute = t_compute * batch;
  // Words of one or two bits cannot be added on the way: every device gathers those of all others.
  const gathered = compression > 2;
  const latency = (gathered ? 1 : 2) * (n - 1) * alpha;
  const sent = ((gathered ? n - 1 : (2 * (n - 1)) / n) * bytes) / compression;
  const whole = latency + sent * beta;
  const hidden = Math.min(whole, overlap * compute);
  const shown = whole === 0 ? 0 : 1 - hidden / whole;
  const parts = { compute, serial: compute * serial * (n - 1), latency: latency * shown, transfer: sent * beta * shown };
  return { ...parts, hidden, step: parts.compute + parts.serial + parts.latency + parts.transfer };
}

export function throughput(model, n) {
  return (n * model.batch) / stepParts(model, n).step;
}

// What the sliders say, over what was fitted; those that nobody moved leave the fitted value as it is.
export function whatIf(model, sliders, moved) {
  const found = { ...model, compression: moved.compression ?? 1, overlap: moved.overlap ?? model.overlap ?? 0 };
  if (moved.batch !== undefined) found.batch = 10 ** moved.batch;
  if (moved.bytes !== undefined) found.bytes = 10 ** moved.bytes;
  const of = (id) => sliders.find((each) => each.id === id);
  if (moved.bandwidth !== undefined) found.beta = moved.bandwidth >= of("bandwidth").max ? 0 : 10 ** -moved.bandwidth;
  if (moved.latency !== undefined) found.alpha = moved.latency <= of("latency").min ? 0 : 10 ** moved.latency;
  // A size that was not measured counts once there is a bandwidth to send it over.
  if (!found.bytes && found.beta) found.bytes = 10 ** of("bytes").value;
  return found;
}
