import { type Fault, faultAt, faultVariable, noFault } from '@signalbox/protocol';

/**
 * The fault port of this process: it kills itself as hard as kill -9 at the point that `SIGNALBOX_FAULT` names, for
 * tests of what survives. Throws `usage` if there is no such point.
 */
export function faultFromEnvironment(env: NodeJS.ProcessEnv): Fault {
  const setting = env[faultVariable];
  return setting ? faultAt(setting, () => process.kill(process.pid, 'SIGKILL')) : noFault;
}
