import { type Fault, faultAt, faultVariable, noFault } from '@signalbox/serving';

/**
 * Returns the fault port of this process. It kills the process as `kill -9` does at the point that `SIGNALBOX_FAULT` names, for
 * tests of recovery. Throws `usage` if no point has that name.
 */
export function faultFromEnvironment(env: NodeJS.ProcessEnv): Fault {
  const setting = env[faultVariable];
  return setting ? faultAt(setting, () => process.kill(process.pid, 'SIGKILL')) : noFault;
}
