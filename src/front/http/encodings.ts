/** The bytes of a body, by Content-Encoding. The first that a client accepts is sent; the last one is plain. */
export type Encodings = readonly [encoding: "br" | "gzip" | "", bytes: Buffer][];

const ACCEPTS = {
  br: /\bbr\b(?!\s*;\s*q=0(\.0*)?(,|$))/,
  gzip: /\bgzip\b(?!\s*;\s*q=0(\.0*)?(,|$))/,
};

/** `accepted`: the request's Accept-Encoding. */
export function chooseEncoding(encodings: Encodings, accepted: string): Encodings[number] {
  for (const each of encodings) if (each[0] === "" || ACCEPTS[each[0]].test(accepted)) return each;
  throw new Error("a body without its plain form");
}
