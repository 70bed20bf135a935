// The first of the tasks that wait, by an order. Tasks that wait no longer stay inside until they are the first, or
// until most are such: so each change costs the logarithm of how many wait.
const FEW = 1024;

export class Oldest {
  #heap = [];
  #inside = new Set();
  #order;

  // `order`: as for sort(). A task waits while its `state` is PENDING.
  constructor(order) {
    this.#order = order;
  }

  // `waiting`: how many tasks wait now.
  add(task, waiting) {
    if (this.#inside.has(task)) return;
    if (this.#heap.length > 2 * waiting + FEW) this.#clean();
    this.#inside.add(task);
    this.#heap.push(task);
    this.#rise(this.#heap.length - 1);
  }

  first() {
    while (this.#heap.length > 0 && this.#heap[0].state !== 'PENDING') this.#drop();
    return this.#heap[0] ?? null;
  }

  get size() {
    return this.#heap.length;
  }

  #clean() {
    this.#heap = this.#heap.filter((task) => task.state === 'PENDING').sort(this.#order); // A sorted array is a heap.
    this.#inside = new Set(this.#heap);
  }

  #drop() {
    this.#inside.delete(this.#heap[0]);
    const last = this.#heap.pop();
    if (this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink(0);
  }

  #rise(at) {
    const heap = this.#heap;
    const task = heap[at];
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (this.#order(heap[above], task) <= 0) break;
      heap[at] = heap[above];
      at = above;
    }
    heap[at] = task;
  }

  #sink(at) {
    const heap = this.#heap;
    const task = heap[at];
    for (let below = 2 * at + 1; below < heap.length; below = 2 * at + 1) {
      if (below + 1 < heap.length && this.#order(heap[below + 1], heap[below]) < 0) ++below;
      if (this.#order(task, heap[below]) <= 0) break;
      heap[at] = heap[below];
      at = below;
    }
    heap[at] = task;
  }
}
