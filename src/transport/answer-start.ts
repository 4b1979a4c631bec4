/**
 * What an answer begins with, before the HTTP parser sees it: interim answers are left out, and a status line is held until it is whole.
 *
 * A client must be able to read interim answers (1xx) that it did not ask for (RFC 9110 §15.2); undici takes an unsolicited `100
 * Continue` for a broken connection, and of a reason phrase that comes in pieces it tells the last one only. 101 is left to the
 * parser: it ends HTTP.
 */

const LF = 0x0a;
const VERSION = Buffer.from('HTTP/1.');
const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r\n]/;
const INTERIM_BYTES = 13;
const HEAD_END = Buffer.from('\r\n\r\n');
/** What is longer than this is left to the parser, which has limits of its own. */
const MAX_HELD_BYTES = 16 * 1024;

/** The beginning of each answer of one socket. */
export class AnswerStart {
  private isPast = false;
  private held: Buffer | null = null;

  /** The next answer begins. */
  begin(): void {
    this.isPast = false;
    this.held = null;
  }

  /**
   * @param bytes just read, in memory that stays as it is
   * @returns what the parser is to be given; null when that is nothing yet
   */
  take(bytes: Buffer): Buffer | null {
    if (this.isPast) return bytes;
    let all = this.held === null ? bytes : Buffer.concat([this.held, bytes]);
    this.held = null;
    while (all.length > 0) {
      if (!all.includes(LF)) return isVersion(all) ? this.hold(all) : this.pass(all);
      if (!INTERIM.test(all.toString('latin1', 0, INTERIM_BYTES))) return this.pass(all);
      const end = all.indexOf(HEAD_END);
      if (end < 0) return this.hold(all);
      all = all.subarray(end + HEAD_END.length);
    }
    return null;
  }

  private pass(bytes: Buffer): Buffer {
    this.isPast = true;
    return bytes;
  }

  private hold(bytes: Buffer): Buffer | null {
    if (bytes.length > MAX_HELD_BYTES) return this.pass(bytes);
    this.held = bytes;
    return null;
  }
}

/** Can it be, or become, the beginning of a status line? */
function isVersion(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, VERSION.length);
  return bytes.compare(VERSION, 0, length, 0, length) === 0;
}
