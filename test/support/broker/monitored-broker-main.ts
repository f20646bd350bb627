import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startBroker } from '@signalbox/broker';

/**
 * A broker in its own process, so that its memory and its system calls are its own. The options are JSON in the first
 * argument; it says over its channel, or on standard output, when it listens, and answers messages with its memory, or with the
 * longest time for which its event loop was held up.
 */
const options = JSON.parse(process.argv[2]!);
const broker = await startBroker({ port: 0, ...options });
const stop = (): void => {
  broker.stop().then(() => process.exit(0));
};
process.on('SIGTERM', stop);
process.on('disconnect', stop);
const ready = { url: broker.url, operatorTokenFile: broker.operatorTokenFile };
if (process.send) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  process.on('message', async (question: { heldUp?: true }) => {
    if (question.heldUp) {
      process.send?.({ heldUpMs: delays.max / 1e6 });
      return delays.reset();
    }
    collect();
    // Connections that were closed in this turn release their buffers in the next one.
    await new Promise(setImmediate);
    collect();
    const { heapUsed, external } = process.memoryUsage();
    process.send?.({ live: heapUsed + external, peak: process.resourceUsage().maxRSS * 1024 });
  });
  process.send(ready);
} else process.stdout.write(`${JSON.stringify(ready)}\n`);
