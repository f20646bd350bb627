import { type Fault, faultAt, faultVariable, noFault } from '@signalbox/serving';

const killSelf = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

/**
 * Makes the fault port of a test's process. The process dies by SIGKILL at the point that `SIGNALBOX_FAULT` names. Later the newest message
 * `{fault: '<point>[:n]' | null}` of its parent replaces that point; the process answers it with `{armed: true}`.
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
