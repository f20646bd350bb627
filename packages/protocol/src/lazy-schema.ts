import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';

/**
 * A schema that is built when it is first used, and zod loaded with the first of them: both take longer than all else
 * that a broker does at its start, and most processes use few. It can stand wherever the schema itself can.
 */
export function lazySchema<S extends z.ZodType>(build: (zod: typeof z) => S): S {
  let schema: S | undefined;
  const built = (): S => {
    schema ??= build(loadZod());
    return schema;
  };
  return new Proxy({} as S, {
    get: (_, key) => Reflect.get(built(), key),
    has: (_, key) => Reflect.has(built(), key),
    set: (_, key, value) => Reflect.set(built(), key, value),
    getPrototypeOf: () => Reflect.getPrototypeOf(built()),
  });
}

/** The very module that `import 'zod'` gives, so that no process holds two. */
function loadZod(): typeof z {
  const require = createRequire(import.meta.url);
  try {
    return (require(fileURLToPath(import.meta.resolve('zod'))) as { z: typeof z }).z;
  } catch {
    // Just being imported by another part of the process, Node cannot give it at once; its other form does the same.
    return (require('zod') as { z: typeof z }).z;
  }
}
