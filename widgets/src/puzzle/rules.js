// The rules of all puzzles, as mixnet/widgets/puzzle/rules.py has them; fixtures/puzzles.json holds both to it.

// judge(payload, place) -> {score, conflicts: [{items, text}]}
export function judge(payload, place) {
  return { memory, tasks, fusion }[payload.kind](payload, place);
}

function memory({ items }, place) {
  const conflicts = [];
  items.forEach((a, i) => {
    for (let j = i + 1; j < items.length; j++) {
      const b = items[j], begin = Math.max(a.begin, b.begin);
      const disjoint = place[i] + a.size <= place[j] || place[j] + b.size <= place[i];
      if (begin < Math.min(a.end, b.end) && !disjoint) conflicts.push({ items: [i, j], text: `${a.name} and ${b.name} share bytes, and both are needed at step ${begin + 1}.` });
    }
  });
  return { score: Math.max(0, ...items.map((each, i) => place[i] + each.size)), conflicts };
}

// Which task waits for which, in the order of pushing: [earlier, later, why].
export function dependencies(items) {
  const edges = [], writer = new Map(), readers = new Map();
  items.forEach(({ name, reads, writes }, number) => {
    for (const v of reads) if (writer.has(v)) edges.push([writer.get(v), number, `${name} reads ${v}, which ${items[writer.get(v)].name} writes`]);
    for (const v of writes) {
      const since = readers.get(v) ?? [];
      for (const reader of since) if (reader !== number) edges.push([reader, number, `${name} writes ${v}, which ${items[reader].name} reads`]);
      if (writer.has(v) && !since.length) edges.push([writer.get(v), number, `${name} writes ${v}, which ${items[writer.get(v)].name} writes`]);
    }
    for (const v of reads) readers.set(v, [...(readers.get(v) ?? []), number]);
    for (const v of writes) {
      writer.set(v, number);
      readers.set(v, []);
    }
  });
  return edges;
}

function tasks({ items }, place) {
  const ends = items.map((each, i) => place[i][1] + each.time), conflicts = [];
  items.forEach((a, i) => {
    for (let j = i + 1; j < items.length; j++) {
      if (place[i][0] === place[j][0] && place[i][1] < ends[j] && place[j][1] < ends[i]) conflicts.push({ items: [i, j], text: `${a.name} and ${items[j].name} run on thread ${place[i][0] + 1} at the same time.` });
    }
  });
  for (const [earlier, number, why] of dependencies(items)) {
    if (place[number][1] < ends[earlier]) conflicts.push({ items: [earlier, number], text: `${why} until ${ends[earlier]}: it cannot start at ${place[number][1]}.` });
  }
  return { score: Math.max(0, ...ends), conflicts };
}

// Groups numbered by their first members.
export function numbered(place) {
  const number = new Map();
  return place.map((group) => {
    if (!number.has(group)) number.set(group, number.size);
    return number.get(group);
  });
}

export const letter = (group) => String.fromCharCode(65 + (group % 26)) + (group >= 26 ? Math.floor(group / 26) : "");

// By value the item that makes it.
export function makers(items) {
  return new Map(items.flatMap((each, i) => each.writes.map((value) => [value, i])));
}

function fusion({ items, values }, place) {
  const group = numbered(place), maker = makers(items), conflicts = [];
  const members = [];
  group.forEach((of, i) => (members[of] ??= []).push(i));
  const outside = new Set();
  let score = 0;
  members.forEach((numbers, of) => {
    for (const value of new Set(numbers.flatMap((i) => items[i].reads))) {
      const source = maker.get(value);
      if (source !== undefined && group[source] === of) continue;
      score += values[value].bytes;
      if (source !== undefined) outside.add(value);
    }
  });
  for (const value of maker.keys()) if (outside.has(value) || values[value].out) score += values[value].bytes;
  for (const numbers of members) {
    for (const i of numbers) if (items[i].kind === "library" && numbers.length > 1) conflicts.push({ items: [i], text: `${items[i].name} is a library call: it runs alone.` });
  }
  const waits = new Map();
  items.forEach((each, i) => {
    for (const value of each.reads) {
      const source = maker.get(value);
      if (source === undefined) continue;
      if (group[source] !== group[i]) {
        if (!waits.has(group[source])) waits.set(group[source], new Map());
        if (!waits.get(group[source]).has(group[i])) waits.get(group[source]).set(group[i], [source, i]);
      } else if (items[source].kind === "reduction") {
        conflicts.push({ items: [source, i], text: `${each.name} needs all of ${items[source].name} before it starts: one loop cannot do both.` });
      }
    }
  });
  const reported = new Set();
  members.forEach((_, start) => {
    const ring = reported.has(start) ? [] : ringOf(waits, start);
    if (!ring.length) return;
    ring.forEach((each) => reported.add(each));
    const edges = ring.map((a, k) => waits.get(a).get(ring[(k + 1) % ring.length]));
    const steps = edges.map(([a, b]) => `${items[b].name} reads ${items[a].name}`).join(", ");
    conflicts.push({ items: [...new Set(edges.flat())].sort((a, b) => a - b), text: `Groups ${ring.map(letter).join(" and ")} depend on each other in a cycle: ${steps}.` });
  });
  return { score, conflicts };
}

// The shortest way from a group back to itself.
function ringOf(waits, start) {
  const before = new Map(), queue = [start];
  for (const at of queue) {
    for (const after of [...(waits.get(at)?.keys() ?? [])].sort((a, b) => a - b)) {
      if (after === start) {
        const ring = [at];
        while (ring.at(-1) !== start) ring.push(before.get(ring.at(-1)));
        return ring.reverse();
      }
      if (!before.has(after)) {
        before.set(after, at);
        queue.push(after);
      }
    }
  }
  return [];
}

// Where an item of a memory puzzle may rest: on the floor, on and below what it meets in time. Ascending.
export function rests({ items }, place, i) {
  const own = items[i], places = new Set([0]);
  items.forEach((each, j) => {
    if (j === i || Math.max(each.begin, own.begin) >= Math.min(each.end, own.end)) return;
    places.add(place[j] + each.size);
    if (place[j] >= own.size) places.add(place[j] - own.size);
  });
  return [...places].sort((a, b) => a - b);
}

// When a task may begin: at 0, at the ends of others, and so that it ends where others begin. Ascending.
export function starts({ items }, place, i) {
  const times = new Set([0]);
  items.forEach((each, j) => {
    if (j === i) return;
    times.add(place[j][1] + each.time);
    if (place[j][1] >= items[i].time) times.add(place[j][1] - items[i].time);
  });
  return [...times].sort((a, b) => a - b);
}
