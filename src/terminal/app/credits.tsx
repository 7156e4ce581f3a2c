import { text } from "../text/catalogue.ts";

/** The reference of the API, and the credit that the licence of the charts asks for. */
export function Credits() {
  return (
    <>
      <a href="/v1/docs">{text.apiReference}</a>{" "}
      <a href="https://www.tradingview.com/" rel="noreferrer" target="_blank">
        {text.chartCredit}
      </a>
    </>
  );
}
