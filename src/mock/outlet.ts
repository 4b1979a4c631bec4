/** Ways for the bytes of a stream to leave: straight, or in one of the shapes that faults ask for. */
import { gzipSync } from 'node:zlib';
import { nowMs } from '../record/clock.ts';
import type { Exchange } from './connection.ts';
import type { FaultKind } from './faults.ts';
import type { Pump } from './pump.ts';

/** Pause between two bytes of a dripping stream. */
const DRIP_MS = 0.2;

/** Sends bytes of a body. The last piece of a chunked body is recognised by its text. */
export type Outlet = (bytes: Buffer) => void;

const LAST_CHUNK = Buffer.from('0\r\n\r\n');

function endsBody(bytes: Buffer): boolean {
  return bytes.length >= 5 && bytes.subarray(-5).equals(LAST_CHUNK);
}

/** Takes chunks apart and sends each one's content as a gzip member of its own, which a gzip reader joins again. */
function gzipOutlet(exchange: Exchange): Outlet {
  return (bytes) => {
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
}

/** Byte by byte, each in a write of its own. */
function dripOutlet(exchange: Exchange, pump: Pump): Outlet {
  let waiting: Buffer = Buffer.alloc(0);
  let dripping = false;
  const drip = (): void => {
    if (waiting.length === 0 || exchange.connection.socket.destroyed) {
      dripping = false;
      return;
    }
    exchange.connection.write(waiting, 0, 1);
    waiting = waiting.subarray(1);
    pump.at(nowMs() + DRIP_MS, drip);
  };
  return (bytes) => {
    waiting = Buffer.concat([waiting, bytes]);
    if (!dripping) {
      dripping = true;
      drip();
    }
  };
}

/** Everything in one piece when the body ends. */
function glueOutlet(exchange: Exchange): Outlet {
  let held: Buffer[] = [];
  return (bytes) => {
    held.push(bytes);
    if (!endsBody(bytes)) return;
    exchange.write(Buffer.concat(held));
    held = [];
  };
}

/** The outlet for a fault; straight when there is none. */
export function outlet(exchange: Exchange, fault: FaultKind | null, pump: Pump): Outlet {
  if (fault === 'gzip' && exchange.chunked) return gzipOutlet(exchange);
  if (fault === 'drip') return dripOutlet(exchange, pump);
  if (fault === 'glue') return glueOutlet(exchange);
  return (bytes) => exchange.write(bytes);
}
