import type { BrokerClient, Log } from '@signalbox/client';
import type { McpHost, WithheldHints } from '@signalbox/mcp-host';
import { frameLimits, messageOf, SignalboxError } from '@signalbox/protocol';

/** The tools that wait to be named; the others are counted. An entry has no room for more. */
const maxWaiting = 20;
/** The space in an entry for the number of tools that it does not name. */
const countLength = 30;

/**
 * Records in the broker's audit log which hints the host withholds. What happens while the broker is away waits for it, and is one
 * entry then. An entry that the broker may have recorded before the connection was lost is sent again.
 */
export function auditWithheldHints(
  client: Pick<BrokerClient, 'audit' | 'onState' | 'state'>,
  host: Pick<McpHost, 'onHintsWithheld'>,
  log: Log,
): Disposable {
  let waiting: string[] = [];
  let unnamed = 0;
  let isSending = false;

  const keep = (texts: readonly string[], others: number) => {
    const kept = texts.slice(0, maxWaiting);
    unnamed += others + texts.length - kept.length;
    waiting = kept;
  };
  const send = async (): Promise<void> => {
    if (isSending || waiting.length === 0 || client.state.name !== 'ready') return;
    isSending = true;
    const sent = { texts: waiting, unnamed };
    waiting = [];
    unnamed = 0;
    let isKept = false;
    try {
      await client.audit('hints_withheld', detailOf(sent.texts, sent.unnamed));
    } catch (thrown) {
      isKept = thrown instanceof SignalboxError && thrown.retryable;
      if (!isKept) log({ event: 'audit_failed', reason: messageOf(thrown) });
    }
    isSending = false;
    if (isKept) keep([...sent.texts, ...waiting], sent.unnamed);
    else void send();
  };

  const removeState = client.onState(() => void send());
  const removeHints = host.onHintsWithheld((withheld) => {
    keep([...waiting, ...withheld.map(textOf)], 0);
    void send();
  });
  return {
    [Symbol.dispose]() {
      removeState();
      removeHints();
    },
  };
}

function textOf({ server, tool, hints }: WithheldHints): string {
  return `${tool} of server '${server}': ${hints.join(', ')}`;
}

/** Names as many tools as fit, and counts the others. */
function detailOf(texts: readonly string[], unnamed: number): string {
  const room = frameLimits.auditDetailLength - countLength;
  let detail = texts[0]!.slice(0, room);
  let named = 1;
  for (const text of texts.slice(1)) {
    if (detail.length + 2 + text.length > room) break;
    detail += `; ${text}`;
    named++;
  }
  const others = texts.length - named + unnamed;
  return others === 0 ? detail : `${detail}; and ${others} more`;
}
