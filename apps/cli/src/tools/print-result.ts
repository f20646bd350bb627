import { isJsonObject, isKeptResultUri, keptResultMeta, type McpResult } from '@signalbox/protocol';
import { exitCodes } from '../terminal/exit-codes.ts';
import { linesOf, printLines, printNotes } from '../terminal/output.ts';

/** Prints the text of a tool's result; one that reports a failure of its own ends the command with 1. */
export function printResult(result: McpResult, name: string): void {
  printLines(
    result.content.flatMap((block) =>
      typeof block.text === 'string' ? linesOf(block.text) : `[${block.type}]`,
    ),
  );
  const kept = result._meta?.[keptResultMeta];
  // A server may claim anything, and people copy commands.
  if (isJsonObject(kept) && isKeptResultUri(kept.uri) && !kept.uri.includes('?'))
    printNotes(`signalbox: the whole result, for the same token: signalbox resources read ${kept.uri}`);
  if (result.isError !== true) return;
  process.exitCode = exitCodes.failed;
  printNotes(`signalbox: ${name} reports that it failed`);
}
