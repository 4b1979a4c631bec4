/**
 * What happened in a run by slices of time, in bounded memory: for the steady-state window of a run whose requests are not kept.
 * Slices are 10 ms long at first, and twice as long whenever there are more than 65,536 of them. At their borders every figure is exact;
 * between them nothing is known.
 */

/** Slices held before they are laid together by twos. */
const MAX_SLICES = 1 << 16;
const FIRST_SLICE_S = 0.01;

/** Cells of a slice. Of each amount that flows evenly over a time: the change of its rate, and of rate x time. */
const CELL = {
  started: 0,
  ended: 1,
  startedWell: 2,
  completed: 3,
  failed: 4,
  requests: 5,
  tokens: 7,
  input: 9,
  cells: 11,
} as const;
type Flow = typeof CELL.requests | typeof CELL.tokens | typeof CELL.input;
type Cells = Float64Array;

/** What has happened up to a border of slices. */
export interface Amounts {
  /** Successful requests sent. */
  readonly started: number;
  readonly completed: number;
  readonly failed: number;
  /** Successful requests, each counted by the share of its time that has passed. */
  readonly requests: number;
  readonly tokens: number;
  readonly inputTokens: number;
}

/** A stretch of borders at all of which the same number was in flight. Seconds. */
export interface Stretch {
  readonly fromS: number;
  readonly toS: number;
  readonly inFlight: number;
}

/** See above. Times in seconds; inside they are relative to the first one, so that sums stay exact. */
export class SteadySlices {
  readonly #slices = new Map<number, Cells>();
  #base = Number.NaN;
  #sliceS = FIRST_SLICE_S;

  get sliceS(): number {
    return this.#sliceS;
  }

  /** A request that was sent and is over. */
  addRequest(startS: number, overS: number, success: boolean, promptLen: number): void {
    if (Number.isNaN(this.#base)) this.#base = startS;
    const [from, to] = [startS - this.#base, overS - this.#base];
    if (!(to > from)) return;
    const begin = this.#cells(from);
    bump(begin, CELL.started);
    if (success) bump(begin, CELL.startedWell);
    const end = this.#cells(to);
    bump(end, CELL.ended);
    bump(end, success ? CELL.completed : CELL.failed);
    if (!success) return;
    this.#flow(CELL.requests, from, to, 1);
    this.#flow(CELL.input, from, to, promptLen);
  }

  /** Output tokens that came between two moments, evenly. */
  addTokens(firstS: number, lastS: number, tokens: number): void {
    if (!Number.isNaN(this.#base)) this.#flow(CELL.tokens, firstS - this.#base, lastS - this.#base, tokens);
  }

  /** All borders in order of time, from the first request on. */
  *stretches(): Generator<Stretch> {
    const keys = [...this.#slices.keys()].sort((a, b) => a - b);
    let inFlight = 0;
    for (const [k, key] of keys.entries()) {
      const cells = this.#slices.get(key) as Cells;
      inFlight += (cells[CELL.started] as number) - (cells[CELL.ended] as number);
      const last = keys[k + 1] ?? key + 1;
      yield { fromS: this.#time(key + 1), toS: this.#time(last), inFlight };
    }
  }

  /** All amounts up to a border, as {@link stretches} gives it. */
  upTo(borderS: number): Amounts {
    const border = Math.round((borderS - this.#base) / this.#sliceS);
    const sum = new Float64Array(CELL.cells);
    for (const [key, cells] of this.#slices) {
      if (key < border) for (let c = 0; c < CELL.cells; c++) sum[c] = (sum[c] as number) + (cells[c] as number);
    }
    const at = border * this.#sliceS;
    const flowed = (flow: Flow) => (sum[flow] as number) * at - (sum[flow + 1] as number);
    return {
      started: sum[CELL.startedWell] as number,
      completed: sum[CELL.completed] as number,
      failed: sum[CELL.failed] as number,
      requests: flowed(CELL.requests),
      tokens: flowed(CELL.tokens),
      inputTokens: flowed(CELL.input),
    };
  }

  #time(slice: number): number {
    return this.#base + slice * this.#sliceS;
  }

  #flow(flow: Flow, from: number, to: number, amount: number): void {
    const begin = this.#cells(from);
    if (!(to > from)) {
      begin[flow + 1] = (begin[flow + 1] as number) - amount;
      return;
    }
    const rate = amount / (to - from);
    begin[flow] = (begin[flow] as number) + rate;
    begin[flow + 1] = (begin[flow + 1] as number) + rate * from;
    const end = this.#cells(to);
    end[flow] = (end[flow] as number) - rate;
    end[flow + 1] = (end[flow + 1] as number) - rate * to;
  }

  #cells(relativeS: number): Cells {
    const slice = Math.floor(relativeS / this.#sliceS);
    const known = this.#slices.get(slice);
    if (known !== undefined) return known;
    if (this.#slices.size >= MAX_SLICES) {
      this.#coarsen();
      return this.#cells(relativeS);
    }
    const cells = new Float64Array(CELL.cells);
    this.#slices.set(slice, cells);
    return cells;
  }

  #coarsen(): void {
    const finer = [...this.#slices];
    this.#slices.clear();
    this.#sliceS *= 2;
    for (const [slice, cells] of finer) {
      const into = this.#slices.get(Math.floor(slice / 2));
      if (into === undefined) this.#slices.set(Math.floor(slice / 2), cells);
      else for (let c = 0; c < CELL.cells; c++) into[c] = (into[c] as number) + (cells[c] as number);
    }
  }
}

function bump(cells: Cells, cell: number): void {
  cells[cell] = (cells[cell] as number) + 1;
}
