import { replyError, sendOrchestratorRequest } from '@signalbox/client/operator/internal';
import {
  isJsonObject,
  isKeptResultUri,
  type McpContentRequest,
  readKeptAnswer,
  readWholeKept,
  SignalboxError,
} from '@signalbox/protocol';
import { untilText } from '@signalbox/protocol/duration';
import { withClient } from '../connection/connected-client.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { textArgument } from '../messages/text-argument.ts';
import { recipientText } from '../messages/why-waiting.ts';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { linesOf, printJson, printLines } from '../terminal/output.ts';
import { toolArguments } from '../tools/tool-arguments.ts';

/** The options of the commands that ask a server for something. */
export interface AskMcpContentFlags extends ToolsFlags {
  /** The longest time for the answer, in milliseconds. */
  timeout: number;
}

/** Reads a resource and prints its texts. Of contents that are not text, it prints their kind and size. */
export async function readResource(uri: string, flags: AskMcpContentFlags): Promise<void> {
  const result = isKeptResultUri(uri)
    ? await readWholeKept((part) => ask(flags, readOf(part)), uri)
    : await ask(flags, readOf(uri));
  if (flags.json) return printJson({ result });
  printLines(listOf(result.contents).flatMap(contentLines));
}

function readOf(uri: string): McpContentRequest {
  return { op: 'request', method: 'resources/read', params: { uri } };
}

/** Gets a prompt and prints its messages. */
export async function getPrompt(name: string, text: string, flags: AskMcpContentFlags): Promise<void> {
  const given = toolArguments(await textArgument(text));
  const wrong = Object.entries(given).find(([, value]) => typeof value !== 'string');
  if (wrong)
    throw new SignalboxError('usage', `the argument '${wrong[0]}' must be a text: prompts take no others`);
  const params = { name, arguments: given };
  const result = await ask(flags, { op: 'request', method: 'prompts/get', params });
  if (flags.json) return printJson({ result });
  printLines(
    listOf(result.messages).flatMap(({ role, content }) => [
      `${String(role)}:`,
      ...blockLines(content).map((line) => `  ${line}`),
    ]),
  );
}

async function ask(flags: AskMcpContentFlags, request: McpContentRequest): Promise<Record<string, unknown>> {
  return await withClient(flags, async (connected) => {
    using withdrawal = withdrawOnSignal();
    const options = { timeoutMs: flags.timeout, signal: withdrawal.signal };
    const orchestrator = await orchestratorOf(connected, flags);
    const todo = `to answer, ${untilText(flags.timeout, Date.now())} at the latest`;
    connected.waits.for(() => recipientText(connected, orchestrator, todo));
    const answer = async (asked: McpContentRequest): Promise<Record<string, unknown>> => {
      const reply = await sendOrchestratorRequest(connected.client, orchestrator, asked, options);
      if ('data' in reply && isJsonObject(reply.data)) return reply.data;
      if ('kept' in reply) return await readKeptAnswer((part) => answer(readOf(part)), reply.kept);
      throw replyError(reply);
    };
    return await answer(request);
  });
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function contentLines({ text, blob, mimeType }: Record<string, unknown>): string[] {
  if (typeof text === 'string') return linesOf(text);
  const bytes = typeof blob === 'string' ? Buffer.from(blob, 'base64').length : 0;
  return linesOf(`[${typeof mimeType === 'string' ? mimeType : 'data'}, ${bytes} bytes]`);
}

function blockLines(block: unknown): string[] {
  if (!isJsonObject(block)) return [];
  if (typeof block.text === 'string') return linesOf(block.text);
  if (isJsonObject(block.resource)) return contentLines(block.resource);
  return linesOf(`[${String(block.type)}]`);
}
