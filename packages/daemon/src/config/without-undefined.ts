/** The type of an object whose undefined properties were removed. */
type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Copies an object without its undefined properties: optional properties are exact here. */
export function withoutUndefined<T extends object>(facts: T): Defined<T> {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Defined<T>;
}
