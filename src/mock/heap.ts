/** A binary min-heap of things that are due at a time; the one queue of everything the server has to do later. */

/** Something to be done at a time on the run's clock. */
export interface Due {
  /** When, on the clock of nowMs(). What it is when the item is queued counts. */
  due: number;
  /** Does it. `now` is a recent reading of the clock. */
  fire(now: number): void;
}

/** Min-heap by `due`. Times lie beside the items in one array of numbers, so that sifting touches no item (it is half the cost). */
export class DueHeap {
  private readonly items: Due[] = [];
  private dues = new Float64Array(1024);

  /** Number of items queued. */
  get size(): number {
    return this.items.length;
  }

  /** When the first is due; Infinity when nothing is queued. */
  get nextDue(): number {
    return this.items.length === 0 ? Number.POSITIVE_INFINITY : (this.dues[0] as number);
  }

  push(item: Due): void {
    const { items } = this;
    const { due } = item;
    let at = items.length;
    items.push(item);
    if (at === this.dues.length) this.widen();
    const { dues } = this;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = dues[parent] as number;
      if (above <= due) break;
      items[at] = items[parent] as Due;
      dues[at] = above;
      at = parent;
    }
    items[at] = item;
    dues[at] = due;
  }

  pop(): Due | undefined {
    const { items, dues } = this;
    const top = items[0];
    const last = items.pop();
    const size = items.length;
    if (last === undefined || size === 0) return top;
    const due = dues[size] as number;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && (dues[child + 1] as number) < (dues[child] as number)) child++;
      const below = dues[child] as number;
      if (below >= due) break;
      items[at] = items[child] as Due;
      dues[at] = below;
      at = child;
    }
    items[at] = last;
    dues[at] = due;
    return top;
  }

  private widen(): void {
    const wider = new Float64Array(this.dues.length * 2);
    wider.set(this.dues);
    this.dues = wider;
  }
}
