// What a view needs of a widget's model, over a plain object: where no kernel is behind it.
export function plainModel(data) {
  const handlers = {};
  return {
    get: (key) => data[key],
    set(key, value) {
      data[key] = value;
      for (const handler of handlers[`change:${key}`] ?? []) handler();
    },
    on: (event, handler) => (handlers[event] ??= []).push(handler),
    off: (event, handler) => (handlers[event] = (handlers[event] ?? []).filter((each) => each !== handler)),
    save_changes() {},
    send() {},
  };
}
