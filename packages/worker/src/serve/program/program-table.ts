import type { ClientName } from '../../agent-clis/injection.ts';
import { clientOf } from '../../agent-clis/injection-table.ts';
import { genericProgram } from './generic-program.ts';
import type { TurnProgram } from './turn-program.ts';

const table: Readonly<Partial<Record<ClientName, TurnProgram>>> = {};

/** Returns how the program of a command line takes turns, by its name. */
export function turnProgramOf(argv: readonly string[]): TurnProgram {
  const name = clientOf(argv[0] ?? '');
  return (name && table[name]) ?? genericProgram;
}
