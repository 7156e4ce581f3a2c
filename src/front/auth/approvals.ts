import { createHmac, randomBytes } from "node:crypto";
import type { TimeMs } from "../../core/base/units.ts";
import { ApiError } from "../common/errors.ts";
import { SeenSignatures } from "./seen-signatures.ts";
import type { WalletSignatures } from "./wallet-signature.ts";

/** The part of a request with which the wallet approves it. */
export interface Approval {
  message: string;
  signature: string;
}

export interface ApprovalOptions {
  /** Requests without an approval are refused. If false, an approval that is sent is checked all the same. */
  isRequired: boolean;
  /** Of the site that asks for the signature. */
  domain: string;
  exchangeId: string;
  chainId: number;
  signatures: WalletSignatures;
  /** The wallet of the account, in lower case. */
  addressOf: (accountId: number) => string;
}

/** A request that needs an approval. */
interface Approvable {
  accountId: number;
  /** The request in words, line by line. No line may hold a line break. */
  lines: readonly string[];
  approval: Approval | undefined;
  /** Of the client. */
  remoteAddress: string;
}

const TTL_MS = 5 * 60_000;
const RANDOM_BYTES = 8;
const TAG_DIGITS = 32;
// 64 random bits and the HMAC-SHA256 of the message without it, cut to 128 bits.
const END = /\nExpires: (\S{24})\nNonce: ([0-9a-f]{16})([0-9a-f]{32})$/;

/**
 * Fresh signatures of wallets for requests that a stolen session or API key must not make. The first try is refused with a
 * message that names the request, the account, the exchange and an end. The client sends the request again with the wallet's
 * signature of that message.
 *
 * The exchange remembers no message: the nonce holds an HMAC of it, with a key that a restart replaces.
 */
export class Approvals {
  private readonly options: ApprovalOptions;
  private readonly key = randomBytes(32);
  /** The tags of used messages. */
  private readonly used = new SeenSignatures(TTL_MS);

  constructor(options: ApprovalOptions) {
    this.options = options;
  }

  /** Whether a request with this approval, or none, gets one checked. */
  concerns(approval: Approval | undefined): boolean {
    return this.options.isRequired || approval !== undefined;
  }

  /** Resolves when the wallet of the account has approved exactly this request. Rejects with an ApiError. */
  async check(request: Approvable): Promise<void> {
    if (this.concerns(request.approval)) await this.verify(request);
  }

  /** The same for a request that takes effect once: a second one with the same message is refused. */
  async checkOnce(request: Approvable): Promise<void> {
    if (!this.concerns(request.approval)) return;
    const tag = await this.verify(request);
    const now = Date.now();
    const memory = this.used.add(tag, now, now);
    if (memory === "SEEN") throw invalid("The message of the approval was used before.");
    if (memory === "FULL") throw new ApiError("OVERLOADED");
  }

  /** The request with this approval was refused after checkOnce(), and did nothing. It may be sent again. */
  restore(approval: Approval | undefined): void {
    if (approval !== undefined) this.used.remove(approval.message.slice(-TAG_DIGITS));
  }

  /** Resolves to the tag of the message. */
  private async verify({ accountId, lines, approval, remoteAddress }: Approvable): Promise<string> {
    const address = this.options.addressOf(accountId);
    if (approval === undefined) throw this.required(address, lines);
    const { message, signature } = approval;
    const [, expires, random, tag] = END.exec(message) ?? [];
    if (expires === undefined || random === undefined || tag === undefined)
      throw invalid("The approval's message does not end with Expires and Nonce, as the exchange writes it.");
    // The exchange wrote the message itself, so one comparison covers the request, the account and the exchange.
    if (message !== this.compose(address, lines, expires, random))
      throw invalid(
        "The approval's message is not for this request, or was made by another exchange or before the last start.",
      );
    if (Date.parse(expires) <= Date.now()) throw invalid("The message of the approval has expired.");
    const { chainId, signatures } = this.options;
    await signatures.check({ address, chainId, message, signature, remoteAddress });
    return tag;
  }

  private required(address: string, lines: readonly string[]): ApiError {
    const expiresAt: TimeMs = Date.now() + TTL_MS;
    const random = randomBytes(RANDOM_BYTES).toString("hex");
    const message = this.compose(address, lines, new Date(expiresAt).toISOString(), random);
    return new ApiError("WALLET_SIGNATURE_REQUIRED", { field: "approval", details: { message, expiresAt } });
  }

  private compose(address: string, lines: readonly string[], expires: string, random: string): string {
    const { domain, exchangeId, chainId } = this.options;
    const text = [
      `${domain} asks you to approve a request to perpd.`,
      "",
      ...lines,
      "",
      `Account: ${address}`,
      `Exchange: ${exchangeId}`,
      `Chain ID: ${chainId}`,
      `Expires: ${expires}`,
      `Nonce: ${random}`,
    ].join("\n");
    return text + createHmac("sha256", this.key).update(text).digest("hex").slice(0, TAG_DIGITS);
  }
}

const invalid = (problem: string): ApiError =>
  new ApiError("APPROVAL_INVALID", {
    field: "approval",
    message: `${problem} Send the request without approval to get a new message, and sign that.`,
  });
