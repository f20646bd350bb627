import type { ConfigPart } from '@signalbox/daemon/config';

/** The parts of a configuration that a broker needs. */
export const brokerParts: readonly ConfigPart[] = [
  'broker',
  'auth',
  'roles',
  'unlisted',
  'groups',
  'hooks',
  'schedules',
];

/** The parts that a face needs. Only one that serves HTTP checks tokens of an identity provider. */
export function faceParts({ http }: { http: boolean }): readonly ConfigPart[] {
  return ['broker', 'orchestrator', 'worker', ...(http ? (['auth'] as const) : [])];
}

/** The parts that the bridge to clients of A2A needs. */
export const a2aParts: readonly ConfigPart[] = ['broker', 'auth', 'orchestrator', 'worker', 'a2a'];
