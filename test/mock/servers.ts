/** Servers for tests: as many as wanted, all closed at the end of the file. */
import { afterAll } from 'vitest';
import type { MockOptions } from '../../src/mock/options.ts';
import { type MockHooks, type MockServer, startMock } from '../../src/mock/server.ts';

/** A maker of servers without waiting times. To be called once, at the top of a test file. */
export function serverMaker(): (options?: Partial<MockOptions>, hooks?: MockHooks) => Promise<MockServer> {
  const servers: MockServer[] = [];
  afterAll(() => Promise.all(servers.map((server) => server.close())));
  return async (options = {}, hooks = {}) => {
    const server = await startMock({ port: 0, ttftMs: 0, itlMs: 0, tokens: 8, ...options }, hooks);
    servers.push(server);
    return server;
  };
}

/** Waits until a condition holds; the test's own time limit ends it otherwise. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}
