import { replyError, sendOrchestratorRequest } from '@signalbox/operator';
import { withSession } from '../connection/client-session.ts';
import { orchestratorOf, type ToolsFlags } from '../connection/orchestrator-request.ts';
import { count, oneLine, printJson, printLines, tableLines } from '../terminal/output.ts';

const manifestTimeoutMs = 10_000;

/** Prints the tools that the caller's role may use. */
export async function listTools(flags: ToolsFlags): Promise<void> {
  const reply = await withSession(flags, (session) => {
    const options = { timeoutMs: manifestTimeoutMs, ephemeral: true };
    return sendOrchestratorRequest(
      session.client,
      orchestratorOf(session, flags),
      { op: 'manifest' },
      options,
    );
  });
  if (!('manifest' in reply)) throw replyError(reply);
  const { version, tools = [] } = reply.manifest;
  if (flags.json) return printJson({ version, tools });
  if (tools.length === 0) return printLines('your role may use no tools');
  const rows = tools.map(({ name, title, description }) => [name, oneLine(description ?? title ?? '', 90)]);
  printLines(...tableLines(['TOOL', 'DOES'], rows), '', `${count(tools.length, 'tool')} for your role.`);
}
