import type { Tool } from '@signalbox/protocol';
import type { CheckedArguments } from '@signalbox/serving';
import { type ArgumentCheck, compileArgumentCheck } from '../argument-check/index.ts';

/** Checks arguments against the input schemas of tools. A schema is compiled once, when a call first needs it. */
export class ArgumentChecks {
  readonly #checks = new WeakMap<Tool, ArgumentCheck>();

  check(tool: Tool, args: Record<string, unknown>): CheckedArguments {
    let check = this.#checks.get(tool);
    if (!check) {
      check = compileArgumentCheck(tool.inputSchema);
      this.#checks.set(tool, check);
    }
    return check.check(args);
  }
}
