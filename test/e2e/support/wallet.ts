import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import type { Challenge, Session } from "../../../src/client/types.ts";
import { Api } from "./api.ts";

export type PrivateKey = `0x${string}`;

export const newPrivateKey = (): PrivateKey => generatePrivateKey();

export const walletOf = (privateKey: PrivateKey): PrivateKeyAccount => privateKeyToAccount(privateKey);

/** A session of the wallet, by a challenge that it has really signed. */
export async function login(url: string, privateKey: PrivateKey = newPrivateKey()): Promise<Session> {
  const api = new Api(url);
  const wallet = walletOf(privateKey);
  const { message } = await api.call<Challenge>(200, "POST", "/auth/challenge", { address: wallet.address });
  const signature = await wallet.signMessage({ message });
  return api.call<Session>(200, "POST", "/auth/login", { message, signature });
}
