/**
 * A minimal, strict HTTP/1.1 request parser over what a socket delivers. It exists because answers are written straight to the
 * socket, several per read may arrive (pipelining), and node:http would own both.
 */

/** One request as received. Header names are in lower case; of repeated headers the first wins. */
export interface HttpRequest {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  /** The query without `?`, '' when there is none. */
  readonly query: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  /** HTTP/1.0 clients get no chunks. */
  readonly version: '1.0' | '1.1';
  readonly keepAlive: boolean;
}

/** Largest head (request line and headers). */
const MAX_HEAD_BYTES = 64 * 1024;
/** Largest body; beyond it 413 is answered. */
export const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** What the parser calls. */
export interface ParserEvents {
  /** A whole request. */
  request(request: HttpRequest): void;
  /** The head is complete and the client waits for `100 Continue`. */
  expectContinue(): void;
  /** Not HTTP, or too large. Nothing more is parsed on this connection. */
  error(status: 400 | 413): void;
}

interface Head {
  method: string;
  path: string;
  query: string;
  headers: Map<string, string>;
  version: '1.0' | '1.1';
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HEAD_END = Buffer.from('\r\n\r\n');
const CRLF = Buffer.from('\r\n');

/** The head's parts, or null when it is malformed. */
function parseHead(text: string): Head | null {
  const lines = text.split('\r\n');
  const match = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) (\S+) HTTP\/1\.([01])$/.exec(lines[0] ?? '');
  if (match === null) return null;
  const headers = new Map<string, string>();
  for (const line of lines.slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a header value must not hold
    if (!TOKEN.test(name) || /[\u0000\r\n]/.test(line)) return null;
    const key = name.toLowerCase();
    if (!headers.has(key)) headers.set(key, line.slice(colon + 1).trim());
  }
  const target = (match[2] as string).replace(/^https?:\/\/[^/]*/i, '') || '/';
  const mark = target.indexOf('?');
  return {
    method: match[1] as string,
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? '' : target.slice(mark + 1),
    headers,
    version: match[3] === '1' ? '1.1' : '1.0',
  };
}

function keepsAlive(head: Head): boolean {
  const connection = (head.headers.get('connection') ?? '').toLowerCase();
  return head.version === '1.1' ? !/\bclose\b/.test(connection) : /\bkeep-alive\b/.test(connection);
}

/** Feed it what the socket reads; it calls back for each whole request, unless it is paused. */
export class RequestParser {
  private readonly events: ParserEvents;
  /** Unparsed bytes, in order. */
  private parts: Buffer[] = [];
  private size = 0;
  private head: Head | null = null;
  /** Bytes of the body still to come; -1: chunked. */
  private bodyLeft = 0;
  private chunks: Buffer[] = [];
  private chunkBytes = 0;
  /** Bytes needed before looking again is of use. */
  private need = 0;
  private failed = false;
  private paused = false;
  private parsing = false;

  constructor(events: ParserEvents) {
    this.events = events;
  }

  /** Bytes held that no request has used yet. */
  get pending(): number {
    return this.size;
  }

  feed(data: Buffer): void {
    if (this.failed) return;
    this.parts.push(data);
    this.size += data.length;
    if (this.size >= this.need) this.parse();
  }

  /** Holds back further requests until {@link resume}: one is being answered. */
  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    // An answer given at once resumes from within parse(): its loop goes on, so that a long pipeline does not nest.
    if (!this.failed && !this.parsing) this.parse();
  }

  private parse(): void {
    this.parsing = true;
    while (!this.paused && !this.failed) {
      this.need = 0;
      const again = this.head === null ? this.parseHead() : this.bodyLeft < 0 ? this.parseChunk() : this.parseBody();
      if (!again) break;
    }
    this.parsing = false;
  }

  private fail(status: 400 | 413): false {
    this.failed = true;
    this.parts = [];
    this.size = 0;
    this.events.error(status);
    return false;
  }

  /** All unparsed bytes as one buffer. */
  private joined(): Buffer {
    if (this.parts.length !== 1) this.parts = [Buffer.concat(this.parts)];
    return this.parts[0] as Buffer;
  }

  private take(bytes: number): Buffer {
    const all = this.joined();
    const rest = all.subarray(bytes);
    this.parts = rest.length === 0 ? [] : [rest];
    this.size = rest.length;
    return all.subarray(0, bytes);
  }

  private parseHead(): boolean {
    if (this.size === 0) return false;
    let all = this.joined();
    // Empty lines before a request line are to be ignored (RFC 9112 2.2).
    while (all.length >= 2 && all[0] === 13 && all[1] === 10) {
      this.take(2);
      if (this.size === 0) return false;
      all = this.joined();
    }
    const end = all.indexOf(HEAD_END);
    if (end < 0) return all.length > MAX_HEAD_BYTES ? this.fail(400) : this.badStart(all);
    if (end > MAX_HEAD_BYTES) return this.fail(400);
    const head = parseHead(this.take(end + 4).toString('latin1', 0, end));
    return head === null ? this.fail(400) : this.beginBody(head);
  }

  /** Bytes that cannot become a request (TLS, binary) are told at once, not when the head never ends. */
  private badStart(all: Buffer): false {
    const first = all[0] as number;
    return first < 33 || first > 126 ? (first === 13 ? false : this.fail(400)) : false;
  }

  private beginBody(head: Head): boolean {
    const encoding = head.headers.get('transfer-encoding');
    const length = head.headers.get('content-length');
    if (encoding !== undefined) {
      if (encoding.toLowerCase() !== 'chunked' || length !== undefined) return this.fail(400);
      this.bodyLeft = -1;
    } else {
      if (length !== undefined && !/^\d{1,15}$/.test(length)) return this.fail(400);
      this.bodyLeft = Number(length ?? 0);
      if (this.bodyLeft > MAX_BODY_BYTES) return this.fail(413);
    }
    this.head = head;
    this.chunks = [];
    this.chunkBytes = 0;
    if (this.bodyLeft !== 0 && /^100-continue$/i.test(head.headers.get('expect') ?? '')) this.events.expectContinue();
    return true;
  }

  private parseBody(): boolean {
    if (this.size < this.bodyLeft) {
      this.need = this.bodyLeft;
      return false;
    }
    // Bodies are copied out, so that a kept request does not pin later bytes of the connection.
    this.finish(this.bodyLeft === 0 ? Buffer.alloc(0) : Buffer.from(this.take(this.bodyLeft)));
    return true;
  }

  private parseChunk(): boolean {
    const all = this.size === 0 ? Buffer.alloc(0) : this.joined();
    const lineEnd = all.indexOf(CRLF);
    if (lineEnd < 0) return all.length > 256 ? this.fail(400) : false;
    const match = /^([0-9a-f]{1,8})[ \t]*(;.*)?$/i.exec(all.toString('latin1', 0, lineEnd));
    if (match === null) return this.fail(400);
    const bytes = Number.parseInt(match[1] as string, 16);
    if (this.chunkBytes + bytes > MAX_BODY_BYTES) return this.fail(413);
    if (bytes === 0) return this.parseTrailers(all, lineEnd);
    if (all.length < lineEnd + 4 + bytes) {
      this.need = lineEnd + 4 + bytes;
      return false;
    }
    if (all[lineEnd + 2 + bytes] !== 13 || all[lineEnd + 3 + bytes] !== 10) return this.fail(400);
    this.chunks.push(Buffer.from(all.subarray(lineEnd + 2, lineEnd + 2 + bytes)));
    this.chunkBytes += bytes;
    this.take(lineEnd + 4 + bytes);
    return true;
  }

  /** The last chunk, then trailer lines until an empty one. */
  private parseTrailers(all: Buffer, lineEnd: number): boolean {
    const end = all.indexOf(HEAD_END, lineEnd);
    if (end < 0) return all.length - lineEnd > MAX_HEAD_BYTES ? this.fail(400) : false;
    this.take(end + 4);
    this.finish(Buffer.concat(this.chunks));
    return true;
  }

  private finish(body: Buffer): void {
    const head = this.head as Head;
    this.head = null;
    this.chunks = [];
    this.events.request({ ...head, body, keepAlive: keepsAlive(head) });
  }
}
