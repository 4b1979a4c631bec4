/** What has come back of one try of a request, beside the events of its stream. One object per slot, used again and again. */
import { isEncoded } from './content-decoder.ts';
import { WORDS_LIMIT } from './outcome.ts';

/** Enough for the words that are kept, in any encoding. */
const BODY_TEXT_BYTES = 4 * WORDS_LIMIT;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** See above. */
export class Incoming {
  /** 0 while there is no answer. */
  status = 0;
  statusText = '';
  contentType = '';
  /** '' when the body comes as it is. */
  encoding = '';
  retryAfter = '';
  /** The server closes the connection behind this answer, and says so. */
  willClose = false;
  /** The body is for the stream's reader; otherwise only its beginning is kept, for the server's words. */
  isForReader = false;
  /** Its chunks can be taken past the HTTP parser. */
  isPlainChunked = false;
  /** Arrival of the headers, ms; NaN before. */
  firstByteMs = Number.NaN;
  hasBodyEnded = false;

  private text = '';
  private textBytes = 0;

  /** A new try. */
  reset(): void {
    this.status = 0;
    this.statusText = '';
    this.contentType = '';
    this.encoding = '';
    this.retryAfter = '';
    this.willClose = false;
    this.isForReader = false;
    this.isPlainChunked = false;
    this.firstByteMs = Number.NaN;
    this.hasBodyEnded = false;
    this.text = '';
    this.textBytes = 0;
  }

  /** @param isWhole an answer in one piece was asked for, not a stream */
  takeHead(status: number, statusText: string, headers: Headers, atMs: number, isWhole: boolean): void {
    this.firstByteMs = atMs;
    this.status = status;
    this.statusText = statusText;
    this.contentType = textOf(headers['content-type']);
    this.encoding = textOf(headers['content-encoding']);
    this.retryAfter = textOf(headers['retry-after']);
    this.willClose = /\bclose\b/i.test(textOf(headers['connection']));
    // Servers that name no type, or text/plain, may still send events; what says JSON or HTML does not.
    this.isForReader = status === 200 && (isWhole || !/json|html/i.test(this.contentType));
    this.isPlainChunked = this.isForReader && !isWhole && !this.isEncoded && headers['transfer-encoding'] === 'chunked';
  }

  get isEncoded(): boolean {
    return isEncoded(this.encoding);
  }

  /** Takes bytes of a body that is not for the reader. Returns how many there were so far. */
  addText(bytes: Buffer): number {
    if (this.text.length < BODY_TEXT_BYTES) this.text += bytes.toString('latin1', 0, BODY_TEXT_BYTES);
    this.textBytes += bytes.length;
    return this.textBytes;
  }

  /** Beginning of such a body. */
  get bodyText(): string {
    return Buffer.from(this.text, 'latin1').toString();
  }
}

function textOf(header: string | string[] | undefined): string {
  return header === undefined ? '' : String(header);
}
