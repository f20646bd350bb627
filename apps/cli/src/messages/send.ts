import { idSchema, kindSchema, SignalboxError } from '@signalbox/protocol';
import { withSession } from '../connection/client-session.ts';
import type { ConnectionFlags } from '../connection/connection.ts';
import { printJson, printLines } from '../terminal/output.ts';
import { textArgument } from './text-argument.ts';

/** The options of `signalbox send`. `ttl` in milliseconds. */
export interface SendFlags extends ConnectionFlags {
  kind?: string;
  replyTo?: string;
  id?: string;
  ttl?: number;
  json?: boolean;
}

/** Stores one message in an agent's inbox. Its body is the text as a JSON string. */
export async function send(to: string, argument: string, flags: SendFlags): Promise<void> {
  checkOptions(flags);
  const body = await textArgument(argument);
  const kind = flags.kind ?? (flags.replyTo === undefined ? 'note' : 'reply');
  const receipt = await withSession(flags, ({ client }) =>
    client.deliver({
      to,
      kind,
      body,
      ...(flags.id !== undefined && { id: flags.id }),
      ...(flags.replyTo !== undefined && { correlationId: flags.replyTo }),
      ...(flags.ttl !== undefined && { ttlMs: flags.ttl }),
    }),
  );
  if (flags.json) return printJson({ id: receipt.id, duplicate: receipt.duplicate });
  printLines(
    receipt.duplicate
      ? `message ${receipt.id} was stored for ${to} before; nothing was added`
      : `message ${receipt.id} is stored for ${to}`,
  );
}

/** Refuses what the broker would refuse too, but by the names of the options. */
function checkOptions({ kind, id, replyTo }: SendFlags): void {
  const checks = [
    ['--kind', kind, kindSchema],
    ['--id', id, idSchema],
    ['--reply-to', replyTo, idSchema],
  ] as const;
  for (const [option, value, schema] of checks) {
    const issue = value === undefined ? undefined : schema.safeParse(value).error?.issues[0];
    if (issue) throw new SignalboxError('usage', `${option} '${value}' ${issue.message}`);
  }
}
