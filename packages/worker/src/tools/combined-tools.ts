import type { Tool } from '@signalbox/protocol';
import type { FaceTools } from './face-tools.ts';

/** Combines sets of tools into one. If two tools have the same name, the one of the earlier set is listed and called. */
export function combinedTools(parts: readonly FaceTools[]): FaceTools {
  return {
    list() {
      const byName = new Map<string, Tool>();
      for (const tool of parts.flatMap((part) => part.list())) {
        if (!byName.has(tool.name)) byName.set(tool.name, tool);
      }
      return [...byName.values()];
    },
    call(call) {
      for (const part of parts) {
        const answer = part.call(call);
        if (answer) return answer;
      }
      return undefined;
    },
    onChanged(listener) {
      const ends = parts.map((part) => part.onChanged(listener));
      return () => {
        for (const end of ends) end();
      };
    },
    instructions: () => parts.flatMap((part) => part.instructions()),
  };
}
