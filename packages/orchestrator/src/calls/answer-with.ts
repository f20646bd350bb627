import type { ReplyEnd, ServeAnswer } from '@signalbox/client';
import type { McpReply } from '@signalbox/protocol';
import type { Fault } from '@signalbox/serving';

/** Makes the answer to a call. `text` is the JSON text of the reply, if it is there. `settle` is called when the broker has the reply. */
export function answerWith(
  fault: Fault | undefined,
  reply: McpReply,
  text: string | undefined,
  settle: ((how: ReplyEnd) => void) | undefined,
): ServeAnswer {
  fault?.('orchestrator.reply.before');
  return {
    kind: 'mcp_reply',
    body: reply,
    text,
    errorCode: 'error' in reply ? reply.error.code : undefined,
    settled: (how) => {
      fault?.('orchestrator.reply.after');
      settle?.(how);
    },
  };
}
