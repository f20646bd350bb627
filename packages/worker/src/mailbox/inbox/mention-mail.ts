import { isJsonObject } from '@signalbox/protocol';
import { endsCall, type FaceAnswer, type FaceCall, type FaceTools } from '../../tools/face-tools.ts';
import type { ToolResult } from '../../tools/tool-result.ts';
import type { MailboxTool } from '../mailbox-tool.ts';
import { mailHintSchema } from './mail-hint.ts';
import type { Unread } from './unread.ts';

/**
 * Wraps tools so that their results tell of mail: `_meta['signalbox/unread']` counts what waits, and where the role's
 * hint is `text`, a text block at the end mentions each new message once. Content and `structuredContent` of a result with
 * `structuredContent` stay as they are, and so do those of a failure, whose text is the server's own report of it.
 */
export function mentionMail(tools: FaceTools, unread: Unread): FaceTools {
  return {
    ...tools,
    call(call) {
      unread.refresh();
      const answer = tools.call(call);
      return answer && mentioning(answer, call, unread);
    },
  };
}

async function mentioning(
  answered: Promise<FaceAnswer>,
  call: FaceCall,
  unread: Unread,
): Promise<FaceAnswer> {
  const answer = await answered;
  if (!unread.isKnown) await unread.known(call.signal);
  return answerWith(answer, unread, (result) => withTextOnly(result, call, unread));
}

/**
 * Wraps a mailbox tool that has an output schema so that its results mention each new message once, in the field `unread` and in a text
 * block.
 */
export function mentionMailIn(tool: MailboxTool, unread: Unread): MailboxTool {
  const { definition } = tool;
  const { outputSchema = {} } = definition;
  const properties = { ...(outputSchema.properties as object), unread: mailHintSchema };
  const wider = { ...outputSchema, properties };
  return {
    definition: { ...definition, outputSchema: wider },
    async run(call) {
      unread.refresh();
      const answer = await tool.run(call);
      await unread.known(call.signal);
      return answerWith({ ...answer, outputSchema: wider }, unread, (result) =>
        withField(result, call, unread),
      );
    },
  };
}

function answerWith(
  answer: FaceAnswer,
  unread: Unread,
  mention: (result: ToolResult) => ToolResult,
): FaceAnswer {
  const { result } = answer;
  const { count } = unread;
  if (count === 0 || !endsCall(result)) return answer;
  const _meta = { ...result._meta, 'signalbox/unread': count };
  return { ...answer, result: { ...mention(result), _meta } };
}

function withTextOnly(result: ToolResult, { signal }: FaceCall, unread: Unread): ToolResult {
  // Nobody reads the result of a cancelled call, so the next result mentions the new messages.
  if (unread.mode !== 'text' || signal.aborted || !isPlain(result)) return result;
  const hint = unread.takeHint();
  return hint ? withText(result, hint.hint) : result;
}

function withField(result: ToolResult, { signal }: FaceCall, unread: Unread): ToolResult {
  const data = result.structuredContent;
  if (signal.aborted || result.isError === true || !isJsonObject(data)) return result;
  const hint = unread.takeHint();
  return hint ? { ...withText(result, hint.hint), structuredContent: { ...data, unread: hint } } : result;
}

function isPlain({ isError, structuredContent, content }: ToolResult): boolean {
  return isError !== true && structuredContent === undefined && Array.isArray(content);
}

/** Adds a line to a result. It begins with a line feed, because some clients show a model the texts of a result without anything between. */
function withText(result: ToolResult, text: string): ToolResult {
  return { ...result, content: [...result.content, { type: 'text', text: `\n${text}` }] };
}
