import { PerpdStreams } from "./streams.ts";

/** The exchange as a ccxt class: `new perpd({ apiKey, secret, hostname: "127.0.0.1:8080" })`. */
export class perpd extends PerpdStreams {}
export default perpd;
