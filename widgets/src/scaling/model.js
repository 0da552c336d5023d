// Seconds of a data-parallel step by what they go to: the model of mixnet/widgets/scaling/model.py.

// How far the slowest of n exponential times is behind their mean, in units of it: H(n) - 1.
export function behind(n) {
  let sum = 0;
  for (let k = 2; k <= n; k += 1) sum += 1 / k;
  return sum;
}

// [latency, transfer] of an exchange, none of it hidden.
function exchange({ alpha = 0, beta = 0, bytes = 0, compression = 1, servers = 0 }, n) {
  const sent = bytes * beta;
  // PowerSGD is summed over all; on servers it is left out. What is pulled is never compressed.
  if (servers) return [2 * alpha, ((compression > 32 ? 1 : 1 / compression) + 1) * Math.max(1, n / servers) * sent];
  // Words of one or two bits cannot be added on the way: every device gathers those of all others.
  if (compression === 16 || compression === 32) return [(n - 1) * alpha, ((n - 1) * sent) / compression];
  return [2 * (n - 1) * alpha, ((2 * (n - 1)) / n) * (sent / compression)];
}

// model: {t_compute, batch, serial, alpha, beta, bytes, overlap, compression, jitter, servers}
export function stepParts(model, n) {
  const { t_compute, batch, serial = 0, overlap = 0, jitter = 0, servers = 0 } = model;
  const compute = t_compute * batch;
  const [latency, transfer] = exchange(model, n);
  const whole = latency + transfer;
  const hidden = Math.min(whole, overlap * compute);
  const shown = whole === 0 ? 0 : 1 - hidden / whole;
  const parts = {
    compute,
    serial: compute * serial * (n - 1),
    waiting: servers ? 0 : jitter * behind(n),
    latency: latency * shown,
    transfer: transfer * shown,
  };
  return { ...parts, hidden, step: parts.compute + parts.serial + parts.waiting + parts.latency + parts.transfer };
}

export function throughput(model, n) {
  return (n * model.batch) / stepParts(model, n).step;
}

// The model on n devices: each has its batch (weak scaling), or all share the batch of one (strong).
export const sized = (model, n, strong) => (strong ? { ...model, batch: model.batch / n } : model);

// What an epoch of so many samples takes, and what n devices cost for that time.
export function epoch(speed, n, samples, price) {
  const seconds = samples / speed;
  return { seconds, cost: (n * seconds * price) / 3600 };
}

// What the sliders say, over what was fitted; those that nobody moved leave the fitted value as it is.
export function whatIf(model, sliders, moved) {
  const result = { ...model, compression: moved.compression ?? 1, overlap: moved.overlap ?? model.overlap ?? 0 };
  const of = (id) => sliders.find((each) => each.id === id);
  if (moved.batch !== undefined) result.batch = 10 ** moved.batch;
  if (moved.bytes !== undefined) result.bytes = 10 ** moved.bytes;
  if (moved.servers !== undefined) result.servers = moved.servers;
  if (moved.bandwidth !== undefined) result.beta = moved.bandwidth >= of("bandwidth").max ? 0 : 10 ** -moved.bandwidth;
  for (const [id, key] of [["latency", "alpha"], ["jitter", "jitter"]]) {
    if (moved[id] !== undefined) result[key] = moved[id] <= of(id).min ? 0 : 10 ** moved[id];
  }
  // A size that was not measured counts once there is a bandwidth to send it over.
  if (!result.bytes && result.beta) result.bytes = 10 ** of("bytes").value;
  return result;
}
