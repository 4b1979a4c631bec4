/**
 * Ground truth: when each request arrived and when each of its token frames was handed to the kernel, on the system's monotonic
 * clock (comparable between processes). Kept in memory within a bound and fetched by `GET /__truth`.
 *
 * Format (little endian), one entry after the other, oldest first: u32 bytes of the id, u32 number of frames, the id in UTF-8
 * padded with zeros to 8 bytes, f64 arrival, then one f64 per frame; times in milliseconds. The id is the `x-request-id` header,
 * or `#n` for the n-th completion request (from 0) without one.
 */

/** Truth about one request; times in milliseconds on the system's monotonic clock. */
export interface TruthEntry {
  readonly id: string;
  readonly arrivedMs: number;
  /** One per token frame, in order, over all choices. */
  readonly framesMs: Float64Array;
}

/** Frames kept by default: 128 MB. */
const MAX_FRAMES = 16_000_000;

/** Frame times of one request while it runs. */
export class TruthTrack {
  readonly id: string;
  readonly arrivedMs: number;
  private times = new Float64Array(64);
  private count = 0;

  constructor(id: string, arrivedMs: number) {
    this.id = id;
    this.arrivedMs = arrivedMs;
  }

  add(ms: number): void {
    if (this.count === this.times.length) {
      const wider = new Float64Array(this.count * 2);
      wider.set(this.times);
      this.times = wider;
    }
    this.times[this.count++] = ms;
  }

  get frames(): Float64Array {
    return this.times.subarray(0, this.count);
  }
}

/** The finished tracks, oldest dropped first when there are too many frames. */
export class TruthStore {
  private readonly offsetMs: number;
  private readonly maxFrames: number;
  private readonly entries = new Map<number, TruthTrack>();
  private serial = 0;
  private frames = 0;

  /** `offsetMs` shifts the run's clock to the system's (clock.ts, monotonicOffsetMs). */
  constructor(offsetMs: number, maxFrames = MAX_FRAMES) {
    this.offsetMs = offsetMs;
    this.maxFrames = maxFrames;
  }

  keep(track: TruthTrack): void {
    this.entries.set(this.serial++, track);
    this.frames += track.frames.length + 1;
    for (const [key, oldest] of this.entries) {
      if (this.frames <= this.maxFrames) break;
      this.frames -= oldest.frames.length + 1;
      this.entries.delete(key);
    }
  }

  /** Ids of what is kept, oldest first. */
  ids(): string[] {
    return [...this.entries.values()].map(({ id }) => id);
  }

  /** All entries (of one id, when given) as bytes; `clear` forgets them. */
  encode(id: string | undefined, clear: boolean): Buffer {
    const tracks = [...this.entries.values()].filter((track) => id === undefined || track.id === id);
    if (clear) {
      this.entries.clear();
      this.frames = 0;
    }
    return Buffer.concat(tracks.map((track) => encodeTrack(track, this.offsetMs)));
  }
}

function encodeTrack(track: TruthTrack, offsetMs: number): Buffer {
  const id = Buffer.from(track.id, 'utf8');
  const times = track.frames;
  const idBytes = Math.ceil(id.length / 8) * 8;
  const out = Buffer.alloc(8 + idBytes + 8 * (times.length + 1));
  out.writeUInt32LE(id.length, 0);
  out.writeUInt32LE(times.length, 4);
  id.copy(out, 8);
  out.writeDoubleLE(track.arrivedMs + offsetMs, 8 + idBytes);
  times.forEach((time, i) => {
    out.writeDoubleLE(time + offsetMs, 16 + idBytes + 8 * i);
  });
  return out;
}

/** Reads what `/__truth` answers. Throws RangeError when the bytes are cut off. */
export function decodeTruth(bytes: Buffer): TruthEntry[] {
  const entries: TruthEntry[] = [];
  let at = 0;
  while (at < bytes.length) {
    const idLength = bytes.readUInt32LE(at);
    const count = bytes.readUInt32LE(at + 4);
    const times = at + 8 + Math.ceil(idLength / 8) * 8;
    const framesMs = Float64Array.from({ length: count }, (_, i) => bytes.readDoubleLE(times + 8 * (i + 1)));
    const id = bytes.toString('utf8', at + 8, at + 8 + idLength);
    entries.push({ id, arrivedMs: bytes.readDoubleLE(times), framesMs });
    at = times + 8 * (count + 1);
  }
  return entries;
}
