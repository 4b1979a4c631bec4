/**
 * Bodies that came compressed although none was asked for. Each piece is unpacked on its own and in order, so that what comes out of it
 * keeps the arrival time of the socket read that brought it. Far off the usual path: nothing here is fast.
 */
import { createBrotliDecompress, createGunzip, createInflate, type Gunzip } from 'node:zlib';

/** Takes unpacked bytes with the arrival time (ms) and the serial number of the read that brought them. */
export type TakeDecoded = (bytes: Buffer, atMs: number, read: number) => void;

interface Piece {
  readonly bytes: Buffer;
  readonly atMs: number;
  readonly read: number;
}

/** Is this value of `content-encoding` one that has to be unpacked? */
export function isEncoded(encoding: string): boolean {
  return encoding !== '' && encoding.toLowerCase() !== 'identity';
}

/** Unpacks one body. */
export class ContentDecoder {
  private readonly unpack: Gunzip;
  private readonly take: TakeDecoded;
  private readonly done: (error: Error | null) => void;
  private readonly pieces: Piece[] = [];
  private current: Piece | null = null;
  private hasEnded = false;
  private isOver = false;

  /**
   * @param encoding gzip, deflate or br
   * @param done called once: when {@link end} was called and everything was handed over, or with the reason why it cannot be unpacked
   * @throws Error for an encoding that is not known
   */
  constructor(encoding: string, take: TakeDecoded, done: (error: Error | null) => void) {
    this.unpack = unpacker(encoding);
    this.take = take;
    this.done = done;
    this.unpack.on('data', (bytes: Buffer) => {
      const { current } = this;
      if (current !== null && !this.isOver) this.take(bytes, current.atMs, current.read);
    });
    this.unpack.on('error', (error: Error) => this.finish(error));
    this.unpack.on('end', () => this.finish(null));
  }

  /** The bytes are copied. */
  add(bytes: Buffer, atMs: number, read: number): void {
    if (this.isOver) return;
    this.pieces.push({ bytes: Buffer.from(bytes), atMs, read });
    if (this.current === null) this.next();
  }

  /** No more bytes follow. */
  end(): void {
    this.hasEnded = true;
    if (this.current === null) this.next();
  }

  /** What is still under way is of no interest any more; `done` is not called. */
  cancel(): void {
    this.isOver = true;
    this.unpack.destroy();
  }

  private next(): void {
    if (this.isOver) return;
    const piece = this.pieces.shift();
    if (piece === undefined) {
      if (this.hasEnded) this.unpack.end();
      else this.current = null;
      return;
    }
    this.current = piece;
    this.unpack.write(piece.bytes, () => this.next());
  }

  private finish(error: Error | null): void {
    if (this.isOver) return;
    this.isOver = true;
    this.done(error);
  }
}

function unpacker(encoding: string): Gunzip {
  switch (encoding.toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress() as unknown as Gunzip;
    default:
      throw new Error(`content-encoding ${encoding.slice(0, 40)} is not known`);
  }
}
