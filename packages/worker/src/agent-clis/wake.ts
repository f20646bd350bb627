import { basename } from 'node:path';
import { SignalboxError } from '@signalbox/protocol';
import { clientOf } from './injection-table.ts';

/** The agents that can be woken when mail comes. */
const wakeable = ['claude'];

/** Refuses a command line whose agent can't be woken when mail comes. Throws `SignalboxError` `usage`, which says what to do instead. */
export function refuseUnwakeable([program = '', ...words]: readonly string[]): void {
  const has = (...options: string[]): boolean =>
    words.some((word) => options.some((option) => word === option || word.startsWith(`${option}=`)));
  if (!wakeable.includes(clientOf(program) ?? ''))
    throw refusal(
      `'${basename(program)}' can't be woken; ${wakeable.join(', ')} can`,
      'leave --wake out; docs/reference/agent-clis.md says what else an idle agent can be told by',
    );
  if (has('-p', '--print'))
    throw refusal(
      "'claude -p' ends after one turn, so that there is nobody to wake",
      'leave -p out, or start it for each message: signalbox worker serve … -- claude -p',
    );
  if (has('--settings'))
    throw refusal(
      'claude takes one --settings, and the hook that wakes it is in ours',
      'put your settings into .claude/settings.local.json of the working directory',
    );
}

function refusal(message: string, hint: string): SignalboxError {
  return new SignalboxError('usage', `--wake: ${message}`, { details: { hint } });
}
