/** A binary min-heap of things that are due at a time; the one queue of everything the server has to do later. */

/** Something to be done at a time on the run's clock. */
export interface Due {
  /** When, on the clock of nowMs(). Not to be changed while queued. */
  due: number;
  /** Does it. `now` is a recent reading of the clock. */
  fire(now: number): void;
}

/** Min-heap by `due`. */
export class DueHeap {
  private readonly items: Due[] = [];

  /** Number of items queued. */
  get size(): number {
    return this.items.length;
  }

  /** The item that is due first. */
  peek(): Due | undefined {
    return this.items[0];
  }

  push(item: Due): void {
    const { items } = this;
    let at = items.length;
    items.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent] as Due;
      if (above.due <= item.due) break;
      items[at] = above;
      at = parent;
    }
    items[at] = item;
  }

  pop(): Due | undefined {
    const { items } = this;
    const top = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return top;
    let at = 0;
    const size = items.length;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && (items[child + 1] as Due).due < (items[child] as Due).due) child++;
      if ((items[child] as Due).due >= last.due) break;
      items[at] = items[child] as Due;
      at = child;
    }
    items[at] = last;
    return top;
  }
}
