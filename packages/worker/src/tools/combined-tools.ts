import type { FaceTools } from './face-tools.ts';

/**
 * Combines sets of tools into one. If two tools have the same name, the one of the earlier set is listed and called. `listed` has
 * the same sets in the order in which clients see them.
 */
export function combinedTools(parts: readonly FaceTools[], listed = parts): FaceTools {
  return {
    list() {
      const owners = new Map<string, FaceTools>();
      const lists = new Map(parts.map((part) => [part, part.list()]));
      for (const [part, tools] of lists) {
        for (const { name } of tools) if (!owners.has(name)) owners.set(name, part);
      }
      return listed.flatMap((part) => lists.get(part)?.filter(({ name }) => owners.get(name) === part) ?? []);
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
    instructions: () => listed.flatMap((part) => part.instructions()),
  };
}
