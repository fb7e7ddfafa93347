"""What every channel promises, as one suite that all of them pass.

`bench` says what a far end can do and puts the real adapter in front of it; `benches/<channel>` is one platform's far
end, driven the way its people drive it. The tests are parametrised over all of them. What a platform cannot do stands
in its `Can`, and the suite then asserts the honest failure. The same far ends serve the tests through the whole core
(`core`): audiences, threads that keep apart, manners in groups. A new channel is done when it passes.
"""
