import { type Fault, faultAt, faultVariable, noFault } from '@signalbox/protocol/internal';

const killSelf = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

/**
 * The fault port of a test's process: it dies by SIGKILL as `SIGNALBOX_FAULT` says, or from then on as the newest
 * message `{fault: '<point>[:n]' | null}` of its parent says, which it answers with `{armed: true}`.
 */
export function processFaults(): Fault {
  const setting = process.env[faultVariable];
  let current = setting ? faultAt(setting, killSelf) : noFault;
  process.on('message', (message) => {
    if (typeof message !== 'object' || message === null || !('fault' in message)) return;
    current = typeof message.fault === 'string' ? faultAt(message.fault, killSelf) : noFault;
    process.send?.({ armed: true });
  });
  return (point) => current(point);
}
