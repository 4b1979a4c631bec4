/** A gate before a server: connections are let through as long as it is open; later ones are taken, and nothing ever comes of them. */
import { connect, createServer, type Socket } from 'node:net';

/** See above. */
export interface Gate {
  readonly port: number;
  /** Resolves when a connection is held back for the first time. */
  readonly heldBack: Promise<void>;
  close(): void;
}

/**
 * Plain connections are passed on byte by byte; a connection that is held back looks open to a client of plain TCP, so such a client must
 * be one that waits for something first: TLS, or a tunnel (then `answer` is sent before the rest is passed on).
 */
export async function startGate(isOpen: () => boolean, port: number, answer = ''): Promise<Gate> {
  const sockets = new Set<Socket>();
  let isShut = false;
  let noteHeldBack = (): void => undefined;
  const heldBack = new Promise<void>((resolve) => {
    noteHeldBack = resolve;
  });
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    isShut ||= !isOpen();
    if (isShut) {
      noteHeldBack();
      return;
    }
    const passOn = (): void => {
      const onward = connect(port, '127.0.0.1');
      sockets.add(onward);
      onward.on('error', () => socket.destroy());
      if (answer !== '') socket.write(answer);
      onward.pipe(socket);
      socket.pipe(onward);
    };
    if (answer === '') passOn();
    else socket.once('data', passOn);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as { port: number }).port,
    heldBack,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
