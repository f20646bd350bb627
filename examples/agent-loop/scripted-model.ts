import type { Decide, Turn, WantedCall } from './agent-loop.ts';

const slowTool = 'mcp_everything__trigger-long-running-operation';

/**
 * Stands in for a model: it decides from the conversation alone, by a script. With `inventsTotal` it ignores the result of
 * the tool that adds, as models sometimes do.
 */
export function scriptedModel({ inventsTotal }: { inventsTotal: boolean }): Decide {
  return async ({ turns }) => {
    const results = turns.filter((turn) => turn.role === 'tool');
    switch (turns.filter((turn) => turn.role === 'assistant').length) {
      case 0:
        return { calls: [call('list', 'mcp_files__list_directory', { path: '.' })] };
      case 1:
        return {
          calls: [
            call('slow', slowTool, { duration: 30, steps: 1 }),
            ...filesIn(resultOf(results, 'list')).map((file) => read(file)),
            read('march.txt'),
            read('april.txt'),
            call('save', 'mcp_files__write_file', { path: 'total.txt', content: '?' }),
          ],
        };
      case 2: {
        const [a, b] = filesIn(resultOf(results, 'list')).map((file) => Number(resultOf(results, file)));
        return { calls: [call('sum', 'mcp_everything__get-sum', { a, b })] };
      }
      default: {
        const total = inventsTotal ? 40 : /(\d+)\.?$/.exec(resultOf(results, 'sum'))?.[1];
        const failed = results.filter((result) => result.isError).map((result) => result.callId);
        return { text: `The total is ${total}. Without: ${failed.toSorted().join(', ')}.` };
      }
    }
  };
}

function call(id: string, name: string, args: Record<string, unknown>): WantedCall {
  return { id, name, arguments: args };
}

function read(file: string): WantedCall {
  return call(file, 'mcp_files__read_text_file', { path: file });
}

/** The names in a listing of server-filesystem: lines such as `[FILE] january.txt`. */
function filesIn(listing: string): string[] {
  return [...listing.matchAll(/^\[FILE\] (.+)$/gm)].map(([, name]) => name!);
}

function resultOf(results: readonly Extract<Turn, { role: 'tool' }>[], callId: string): string {
  return results.find((result) => result.callId === callId)?.text ?? '';
}
