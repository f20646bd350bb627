import { copyStore } from '@signalbox/daemon/store-copy';

// The process of a copy, which stays in the middle of a step. Its argument is JSON.
const { step: last, ...options } = JSON.parse(process.argv[2]!);
const { signal } = new AbortController();
await copyStore({
  ...options,
  now: Date.now(),
  signal,
  onProgress: ({ step }) => {
    if (step !== last) return;
    process.send?.('here');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
});
