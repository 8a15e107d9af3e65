cd /tmp/wtdoc
./cli/node_modules/.bin/redocly lint $1 --extends=recommended --format=json --max-problems 300 2>/dev/null > r.json; node -e "
const r=JSON.parse(require('fs').readFileSync('/tmp/wtdoc/r.json','utf8').replace(/^[^{]*/,''));
for(const p of r.problems) if(!/operation-4xx|ambiguous|operation-2xx/.test(p.ruleId)) console.log(p.ruleId,'|',p.location[0]?.pointer?.slice(0,150),'|',p.message.slice(0,150));" | head -${2:-60}
./cli/node_modules/.bin/spectral lint $1 -r s.yaml | head -40
