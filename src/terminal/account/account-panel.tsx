import type { ComponentChildren } from "preact";
import { account, accountFault, balance, isolated, totalEquity } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { fixed, signed, tone, usd } from "../text/format.ts";
import { AccountActions } from "./account-dialogs.tsx";
import { isOpeningDemo, shortAddress, tryIt } from "./sign-in.ts";
import { WalletList } from "./wallet-list.tsx";
import { wallets } from "./wallets.ts";

/** The account that is signed in, and its money. */
export function AccountPanel() {
  const signedIn = account.value;
  return (
    <section class="panel account" aria-label={text.account}>
      <header class="panel-head">
        <h2>{text.account}</h2>
        {signedIn !== null && (
          <span class="tag" title={signedIn.address}>
            {signedIn.kind === "DEMO" ? text.demo : text.wallet} {shortAddress(signedIn.address)}
          </span>
        )}
      </header>
      {signedIn === null ? <SignedOut /> : <Money />}
    </section>
  );
}

export function TryItButton() {
  return (
    <button type="button" class="accent" disabled={isOpeningDemo.value} onClick={() => void tryIt()}>
      {isOpeningDemo.value ? text.opening : text.tryIt}
    </button>
  );
}

function SignedOut() {
  return (
    <div class="signed-out">
      <p>{text.tryItHint}</p>
      <TryItButton />
      {wallets.value.length > 0 && <p>{text.orWallet}</p>}
      <WalletList />
      {accountFault.value !== null && (
        <p class="note bad" role="alert">
          {accountFault.value}
        </p>
      )}
    </div>
  );
}

function Money() {
  const apart = isolated.value;
  return (
    <>
      {apart !== null && (
        <>
          <dl class="pairs" aria-label={text.allMoney}>
            <Amount label={text.totalEquity} isMain>
              {usd(totalEquity.value)} USDC
            </Amount>
            <Amount label={text.isolatedMargin}>{usd(apart.margin)}</Amount>
            <Amount label={text.isolatedPnl} tone={tone(apart.unrealizedPnl)}>
              {signed(apart.unrealizedPnl)}
            </Amount>
          </dl>
          <h3>{text.crossMoney}</h3>
        </>
      )}
      <CrossMoney isAll={apart === null} />
      <AccountActions />
    </>
  );
}

/** As the exchange tells it, in one message, so that the figures fit each other. */
function CrossMoney({ isAll }: { isAll: boolean }) {
  const now = balance.value;
  const ratio = now?.marginRatio ?? null;
  return (
    <>
      <dl class="pairs" aria-label={text.crossMoney}>
        <Amount label={text.equity} isMain={isAll}>
          {usd(now?.equity)} USDC
        </Amount>
        <Amount label={text.walletBalance}>{usd(now?.walletBalance)}</Amount>
        <Amount label={text.unrealizedPnl} tone={tone(now?.unrealizedPnl)}>
          {signed(now?.unrealizedPnl)}
        </Amount>
        <Amount label={text.available}>{usd(now?.availableBalance)}</Amount>
        <Amount label={text.initialMargin}>{usd(now?.initialMargin)}</Amount>
        <Amount label={text.maintenanceMargin}>{usd(now?.maintenanceMargin)}</Amount>
        <Amount label={text.marginRatio}>{ratio === null ? "–" : `${fixed(100 * Number(ratio), 2)}%`}</Amount>
      </dl>
      <meter
        class="ratio"
        aria-label={text.marginRatio}
        min={0}
        max={1}
        low={0.5}
        high={0.8}
        optimum={0}
        value={Math.min(1, Number(ratio ?? 0))}
      />
    </>
  );
}

function Amount(props: { label: string; isMain?: boolean; tone?: string; children: ComponentChildren }) {
  const { label, isMain = false, tone: colour = "", children } = props;
  return (
    <div class={isMain ? "main" : ""}>
      <dt>{label}</dt>
      <dd class={`num ${colour}`}>{children}</dd>
    </div>
  );
}
