import type { FaceTools } from './face-tools.ts';

/** Several sets of tools as one, in this order; of two tools of one name, that of the earlier set is called. */
export function combinedTools(parts: readonly FaceTools[]): FaceTools {
  return {
    list() {
      const seen = new Set<string>();
      const isNew = (name: string) => !seen.has(name) && seen.add(name);
      return parts.flatMap((part) => part.list().filter(({ name }) => isNew(name)));
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
