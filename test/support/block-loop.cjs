// Preloaded by NODE_OPTIONS=--require into the program under test: blocks the event loop of its worker threads once, for
// TEST_BLOCK_MS, as soon as TEST_BLOCK_AFTER_MS have passed in the thread. The program itself knows nothing of it.
const { isMainThread, threadId } = require('node:worker_threads');

const { TEST_BLOCK_MS, TEST_BLOCK_AFTER_MS } = process.env;
if (!isMainThread && TEST_BLOCK_MS !== undefined) {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  // Only the first worker: threads are numbered from 1.
  if (threadId === 1)
    setTimeout(() => Atomics.wait(cell, 0, 0, Number(TEST_BLOCK_MS)), Number(TEST_BLOCK_AFTER_MS ?? 500)).unref();
}
