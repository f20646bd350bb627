import type { HoldTarget } from '@signalbox/client/operator';
import { SignalboxError } from '@signalbox/protocol';

/** The options that say what a hold is on. */
export interface HoldTargetFlags {
  agent?: string;
  role?: string;
  tool?: string;
  all?: boolean;
}

/** Reads what a hold is on; `undefined` if no option says it. Throws `usage` if several do. */
export function holdTarget({ agent, role, tool, all }: HoldTargetFlags): HoldTarget | undefined {
  const targets: HoldTarget[] = [
    ...(agent === undefined ? [] : [{ on: 'agent' as const, name: agent }]),
    ...(role === undefined ? [] : [{ on: 'role' as const, name: role }]),
    ...(tool === undefined ? [] : [{ on: 'tool' as const, name: tool }]),
    ...(all ? [{ on: 'all' as const }] : []),
  ];
  if (targets.length > 1)
    throw new SignalboxError('usage', 'only one of --agent, --role, --tool and --all can be given', {
      details: { hint: 'a hold is on one of them; place several holds' },
    });
  return targets[0];
}
