import { must } from "../../assert.ts";
import type { Call } from "./call.ts";

/** The bytes of a body, by Content-Encoding. The first that a client accepts is sent; the last one is plain. */
export type Encodings = readonly [encoding: "br" | "gzip" | "", bytes: Buffer][];

const ACCEPTS = {
  br: /\bbr\b(?!\s*;\s*q=0(\.0*)?(,|$))/,
  gzip: /\bgzip\b(?!\s*;\s*q=0(\.0*)?(,|$))/,
};

/** Answers with the form of the body that the client accepts. */
export function replyEncoded(call: Call, encodings: Encodings, contentType: string): void {
  const chosen = encodings.find(([encoding]) => encoding === "" || ACCEPTS[encoding].test(call.acceptEncoding));
  const [encoding, bytes] = must(chosen, "the plain form of a body");
  if (encoding !== "") call.header("Content-Encoding", encoding);
  call.reply(200, bytes, contentType);
}
