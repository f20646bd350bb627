import { type ProxiedResult, visible } from '@signalbox/protocol';
import { exitCodes } from '../terminal/exit-codes.ts';
import { printLines } from '../terminal/output.ts';

/** Prints the text of a tool's result; one that reports a failure of its own ends the command with 1. */
export function printResult(result: ProxiedResult, name: string): void {
  printLines(
    ...result.content.map((block) => (typeof block.text === 'string' ? block.text : `[${block.type}]`)),
  );
  if (result.success) return;
  process.exitCode = exitCodes.failed;
  process.stderr.write(`signalbox: ${visible(name)} reports that it failed\n`);
}
