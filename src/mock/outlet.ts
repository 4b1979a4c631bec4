/** Ways for the bytes of a stream to leave: straight, or in one of the shapes that faults ask for. */
import { gzipSync } from 'node:zlib';
import { nowMs } from '../record/clock.ts';
import type { Exchange } from './connection.ts';
import type { FaultKind } from './faults.ts';
import type { Pump } from './pump.ts';

/** Where the pieces of a body go. */
export interface Outlet {
  send(bytes: Buffer): void;
  /** Everything has been handed over: calls back when it has been sent. */
  flush(done: () => void): void;
}

/** Takes chunks apart and sends each one's content as a gzip member of its own, which a gzip reader joins again. */
function gzipOutlet(exchange: Exchange): Outlet {
  const send = (bytes: Buffer): void => {
    let at = 0;
    const out: Buffer[] = [];
    while (at < bytes.length) {
      const lineEnd = bytes.indexOf('\r\n', at);
      const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
      if (!(size > 0)) {
        out.push(bytes.subarray(at));
        break;
      }
      const packed = gzipSync(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
      out.push(Buffer.from(`${packed.length.toString(16)}\r\n`), packed, Buffer.from('\r\n'));
      at = lineEnd + 4 + size;
    }
    exchange.write(Buffer.concat(out));
  };
  return { send, flush: (done) => done() };
}

/** Byte by byte, each in a write and a turn of the event loop of its own. */
function dripOutlet(exchange: Exchange, pump: Pump): Outlet {
  let waiting: Buffer = Buffer.alloc(0);
  let dripping = false;
  let whenEmpty: (() => void) | undefined;
  const drip = (): void => {
    dripping = waiting.length > 0 && !exchange.done;
    if (!dripping) {
      whenEmpty?.();
      return;
    }
    exchange.write(waiting.subarray(0, 1));
    waiting = waiting.subarray(1);
    pump.at(nowMs(), drip);
  };
  const send = (bytes: Buffer): void => {
    waiting = Buffer.concat([waiting, bytes]);
    if (!dripping) drip();
  };
  const flush = (done: () => void): void => {
    whenEmpty = done;
    if (!dripping) done();
  };
  return { send, flush };
}

/** Everything in one piece when the body ends. */
function glueOutlet(exchange: Exchange): Outlet {
  const held: Buffer[] = [];
  return {
    send: (bytes) => void held.push(bytes),
    flush: (done) => {
      exchange.write(Buffer.concat(held));
      done();
    },
  };
}

/** The outlet for a fault; straight when there is none. */
export function outlet(exchange: Exchange, fault: FaultKind | null, pump: Pump): Outlet {
  if (fault === 'gzip' && exchange.chunked) return gzipOutlet(exchange);
  if (fault === 'drip') return dripOutlet(exchange, pump);
  if (fault === 'glue') return glueOutlet(exchange);
  return { send: (bytes) => exchange.write(bytes), flush: (done) => done() };
}
