/**
 * Series by segments of the time at which requests were sent, in bounded memory: 64 segments at most, 1 s long at first and twice as long
 * whenever there are more. The series of any window are those of the segments that lie wholly within; merging histograms loses
 * nothing.
 */
import { HistogramSet } from './histogram.ts';
import { RunningSeries } from './running.ts';

const MAX_SEGMENTS = 64;
const FIRST_SEGMENT_S = 1;

export class SteadySegments {
  #segments = new Map<number, RunningSeries>();
  #base = Number.NaN;
  #segmentS = FIRST_SEGMENT_S;

  get segmentS(): number {
    return this.#segmentS;
  }

  /** The series of the requests that were sent in the segment of this moment, to be added to. */
  at(startS: number): RunningSeries {
    if (Number.isNaN(this.#base)) this.#base = startS;
    const segment = Math.floor((startS - this.#base) / this.#segmentS);
    const known = this.#segments.get(segment);
    if (known !== undefined) return known;
    if (this.#segments.size >= MAX_SEGMENTS) {
      this.#coarsen();
      return this.at(startS);
    }
    const series = new RunningSeries(new HistogramSet());
    this.#segments.set(segment, series);
    return series;
  }

  /** Adds the series of all segments wholly within a window to `into`. */
  collect(fromS: number, toS: number, into: RunningSeries): void {
    for (const [segment, series] of this.#segments) {
      const begin = this.#base + segment * this.#segmentS;
      if (begin >= fromS && begin + this.#segmentS <= toS) into.addSeries(series);
    }
  }

  #coarsen(): void {
    const finer = this.#segments;
    this.#segments = new Map();
    this.#segmentS *= 2;
    for (const [segment, series] of finer) {
      const into = this.#segments.get(Math.floor(segment / 2));
      if (into === undefined) this.#segments.set(Math.floor(segment / 2), series);
      else {
        into.addSeries(series);
        series.histograms.destroy();
      }
    }
  }
}
